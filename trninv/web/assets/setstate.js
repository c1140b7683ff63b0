import{C as e,b as t,f as n,g as r,m as i,r as a,s as o,t as s,v as c,w as l,x as u}from"./jsxRuntime.js";import{T as d,a as f,c as p,d as m,h,l as g,t as _,u as v,v as y,x as b}from"./words.js";import{n as x,t as ee}from"./name.js";import{c as S,i as C,n as w,p as T}from"./state.js";import{p as E}from"./index.js";import{t as D}from"./parts.js";import{r as te}from"./proposal.js";import{n as O,t as k}from"./toast.js";var A=h(`fragment Seen on Event { event at who why }`),ne=h(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[A]),j=h(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        target {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),M=h(`
  fragment Able on CapabilityAnswer {
    chips idleLinks
    halves { exact upper { gigabytesPerSecond } }
  }
`),N=h(`
  query CapabilityIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      capability(scope: $scope) { ...Able difference { incomparable } baseline { ...Able } }
    }
  }
`,[M]),P=h(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),F=h(`
  query Brought($scope: Address!) {
    incidents(scope: $scope, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function I(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var L=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],re={Nic:`NIC`,NetworkNode:`network node`};function R(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>g(t,re[e]??e.toLowerCase())).join(`, `)}var ie=(e,t)=>`Set ${R(e)} to ${t}`;function z(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var B=({lastChange:e})=>e?.event??0;function V(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:B(n)})}var H=(e,t)=>t.filter(t=>e.get(t.address)?.event!==B(t)),U=[`up`,`degraded`];function W(e,t,n){let r=!U.includes(t),i=e.filter(({state:e})=>U.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function G(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var K=2;function q({things:e,to:t,factor:n,route:i}){let{reached:a}=r(),o=W(e,t,n),c=[...new Set(e.map(({address:e})=>E(e)))].filter(Boolean),l=o&&!o.down.length&&!o.derate.length;return s(`section`,{class:`would`,"aria-label":`What this would change`,children:[s(`h3`,{children:[`What this would change `,s(`span`,{class:`quiet`,children:[`as of `,S(a),` UTC`]})]}),l&&s(`p`,{class:`quiet`,children:`No effect on capacity.`}),o&&!l&&c.slice(0,K).map(e=>s(ae,{domain:e,supposed:o,route:i},e)),o&&!l&&c.length>K&&s(`p`,{class:`quiet`,children:[`and `,g(c.length-K,`more domain`)]}),o&&!c.length&&!l&&s(`p`,{class:`quiet`,children:`Not in a scale-up domain, so no NeuronLink changes.`}),!o&&s(oe,{things:e,to:t}),s(se,{things:e,to:t})]})}function J({name:e,before:t,now:n,unit:r=``,isBad:i=!1,incomparable:a}){let o=n-t,c=a?`not comparable: ${a}`:f(t,n)||`no change`;return s(`div`,{children:[s(`dt`,{children:e}),s(`dd`,{children:[s(D,{now:`${p(n)}${r}`,before:p(t)+(o?``:r)}),s(`span`,{class:o<0!==i&&o&&!a?`less`:`quiet`,children:c})]})]})}function Y({result:e,children:t}){return e.error?s(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?s(`p`,{class:`quiet`,children:`Computing…`}):null:s(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function ae({domain:t,supposed:n,route:r}){let{from:i,to:a}=r.view===`domain`&&r.subject===t?r.options:{},o=i&&a?{from:_(t,i),to:_(t,a)}:null,c=d(y(N,{scope:t,...n})),l=d(o&&y(P,{...o,...n}));return s(e,{children:[s(Y,{result:c,children:({whatIf:{capability:e}})=>e.baseline&&s(X,{domain:t,chips:[e.baseline.chips,e.chips],links:[e.baseline.idleLinks,e.idleLinks],halves:[e.baseline.halves,e.halves],incomparable:e.difference?.incomparable})}),o&&s(Y,{result:l,children:({whatIf:{bandwidth:e}})=>s(J,{name:`Maximum flow ${v(t,o.from)} to ${v(t,o.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function X({domain:t,chips:n,links:r,halves:[i,a],incomparable:o}){return s(e,{children:[s(J,{name:`Working chips in ${t}`,before:n[0],now:n[1]}),s(J,{name:`Idle links`,before:r[0],now:r[1],isBad:!0}),s(J,{name:i.exact&&a.exact?`Bisection`:`Bisection, at most`,before:i.upper.gigabytesPerSecond,now:a.upper.gigabytesPerSecond,unit:` GB/s`,incomparable:o})]})}function oe({things:e,to:t}){let n=e.find(({state:e})=>e!==`up`)?.address,r=d(t===`up`&&n?y(F,{scope:n}):null),i=new Set(e.map(({address:e})=>e));return t!==`up`||!n?s(`p`,{class:`quiet`,children:`Capacity will increase. The numbers are known once the state is set.`}):s(Y,{result:r,children:({incidents:{nodes:e}})=>{let t=e[0];return t?t.causeCount>t.causes.length||!t.causes.every(e=>i.has(e))?s(`p`,{class:`quiet`,children:[`Part of incident `,t.id,`, which has `,g(t.causeCount,`cause`),`. What the other causes took down stays down.`]}):t.impact.domains.map(e=>s(X,{domain:e.domain,chips:[e.chipsNow,e.chipsBefore],links:[e.idleLinksNow,e.idleLinksBefore],halves:[e.bisectionNow,e.bisectionBefore],incomparable:e.incomparable},e.domain)):s(`p`,{class:`quiet`,children:`Not part of an incident.`})}})}function se({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of z(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:s(`ul`,{class:`plain`,children:[...n].map(([e,t])=>s(`li`,{children:[s(w,{state:`degraded`}),` job `,e,` uses `,p(t.length),` of these chips`,` `,s(`a`,{href:a(`jobs`,``,{in:E(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Find another placement`})]},e))})}var Z=e=>Math.max(0,...e.map(({target:e})=>`lastChange`in e?e.lastChange?.event??0:0)),ce=e=>k({message:e.message,undo:e.changes.length?()=>Q(e):void 0});async function Q({changes:e,why:t,who:r}){let i=Z(e);for(let a of G(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:r,unchangedSince:i},{setState:o}=await b({...y(j,{input:e}),at:``});n(Z(o.changes))}}var le=[`up`,`degraded`,`down`,`maintenance`],$=1e3;function ue(e){if(!e.places.length||document.querySelector(`dialog.change`))return;O();let t=document.body.appendChild(document.createElement(`div`));l(s(de,{change:e,close:()=>{l(null,t),t.remove()}}),t)}function de({change:e,close:r}){let a=t(null),l=t(new Map),f=o(),m=te(),[h,g]=u(()=>[...new Set(e.places)]),[_,v]=u(e.state),[S,w]=u(String(e.factor??.5)),[T,E]=u(``),[D,O]=u(!1),k=d(y(ne,I(h))),A=k.data?L(k.data):[];V(l.current,A);let M=H(l.current,A),N=z(A).size,P=Number(S),F=!k.loading&&A.length>0&&A.length<h.length;return c(()=>{a.current?.showModal(),a.current?.querySelector(`[name=why]`)?.focus()},[]),s(`dialog`,{class:`change`,ref:a,"aria-labelledby":`change`,onClose:r,children:s(`form`,{onSubmit:async e=>{e.preventDefault();let t=new FormData(e.target),r=String(t.get(`why`)),o=x(t,m);O(!0),E(``);let s={addresses:A.map(({address:e})=>e),state:_.toUpperCase(),factor:_===`degraded`?P:null,why:r,who:o,unchangedSince:k.data?.events.nodes[0]?.event??0};try{let{setState:e}=await b({...y(j,{input:s}),at:``});a.current?.close(),n(Z(e.changes)),ce({message:fe(A,e.changes,_),why:r,who:o,changes:e.changes})}catch(e){let{code:t,message:n}=e;E(n),t===`CONFLICT`&&i(),O(!1)}},children:[s(`header`,{children:[s(`h2`,{id:`change`,children:`Set state`}),s(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>a.current?.close(),children:s(`span`,{"aria-hidden":`true`,children:`×`})})]}),s(`div`,{class:`body`,children:[s(pe,{things:k.error||!k.data?h.map(e=>({address:e})):A,places:h,set:g}),F&&s(`p`,{class:`failure`,role:`alert`,children:[`Only `,p(A.length),` of `,p(h.length),` parts were loaded. Set fewer at once.`]}),k.error&&s(`p`,{class:`failure`,role:`alert`,children:k.error.message}),s(`fieldset`,{class:`to`,children:[s(`legend`,{children:`New state`}),le.map(e=>s(`label`,{class:e,children:[s(`input`,{type:`radio`,name:`to`,value:e,checked:e===_,onChange:()=>v(e)}),s(C,{state:e,children:e})]},e))]}),_===`degraded`&&s(`label`,{children:[`Remaining capacity, between 0 and 1`,s(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:S,onInput:e=>w(e.currentTarget.value)})]}),s(`label`,{children:[`Reason, kept with the change`,s(`input`,{name:`why`,required:!0,maxLength:$,pattern:`.*\\S.*`,title:`A reason`,autocomplete:`off`})]}),s(ee,{viewer:m,most:$}),A.length>0&&(_!==`degraded`||P>0&&P<1)&&s(q,{things:A,to:_,factor:P,route:f}),N>16&&s(`label`,{children:[`This affects `,p(N),` chips. Type the number to confirm`,s(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(N),title:String(N)})]}),M.length>0&&s(me,{things:M,seen:l.current}),T&&!M.length&&s(`p`,{class:`failure`,role:`alert`,children:T})]}),s(`footer`,{children:[s(`span`,{class:`quiet`,children:[m?.name?`As ${m.name} · takes`:`Takes`,` effect immediately`]}),s(`button`,{type:`button`,onClick:()=>a.current?.close(),children:`Cancel`}),s(`button`,{type:`submit`,"data-writes":!0,class:_===`up`?`main`:`main ${_}`,disabled:D||!m||k.loading||!A.length||F,children:ie(A,_)})]})]})})}function fe(e,t,n){if(!t.length)return`No change: ${R(e)} already ${T(n)}`;let r=t.filter(({after:e,target:t})=>`state`in t&&t.state!==e).length,i=r?`; ${p(r)} will be ${T(n)} once the server is`:``;return`${R(e)} set to ${n}${i}`}function pe({things:e,places:t,set:n}){let[r,i]=u(!1),a=e=>{let r=e.value.trim().toLowerCase();r&&n([...new Set([...t,r])]),i(!1)};return s(`div`,{class:`what`,children:[s(`h3`,{children:`Parts`}),s(`ul`,{children:[e.slice(0,8).map(({address:e,state:r})=>s(`li`,{children:[s(`strong`,{children:m(e)}),` `,r&&s(C,{state:r}),t.length>1&&s(`button`,{type:`button`,class:`plain`,"aria-label":`Remove ${e}`,onClick:()=>n(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&s(`li`,{class:`quiet`,children:[`and `,p(e.length-8),` more`]}),s(`li`,{children:r?s(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),a(e.currentTarget))},onBlur:e=>a(e.currentTarget)}):s(`button`,{type:`button`,class:`plain`,onClick:()=>i(!0),children:`+ Add`})})]})]})}function me({things:e,seen:t}){return s(`div`,{class:`conflict`,role:`alert`,children:[s(`strong`,{children:`Changed since you opened this dialog`}),s(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>s(`li`,{children:[s(w,{state:n}),` `,m(e),` was `,t.get(e)?.state,`, now `,T(n),r&&`, ${S(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),s(`label`,{children:[s(`input`,{type:`checkbox`,required:!0}),` Set anyway`]},e.map(({lastChange:e})=>e?.event).join())]})}export{ue as open};